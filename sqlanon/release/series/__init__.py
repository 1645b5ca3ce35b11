"""A series of releases that says no more of a person than each of them.

A track is the sequence of classes in which a person stood in the releases so far, absence included. The ledger
remembers tracks under keyed hashes; each group of people of one track satisfies the requirement.
"""
