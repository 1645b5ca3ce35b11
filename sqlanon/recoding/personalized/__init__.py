"""Personalized privacy (Xiao and Tao 2006): guarding nodes, generalization of sensitive values, two recoders."""
