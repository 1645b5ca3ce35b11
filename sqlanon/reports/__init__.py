"""The report of a plan or a release: gathered from lock file, evidence and database, drawn as a page.

No value with fewer than k rows behind it enters it.
"""
