"""A fuzzer: random tables, hierarchies and specs, released by sqlanon and judged by code that shares nothing with it.

    generate  a case from one number          ladders   hierarchies, read from the spec by rules of their own
    database  tables in, releases out         models    privacy models in fractions
    release   one command in this process     lattice   every node of the lattice, by brute force
    check     what is wrong with a release    shrink    a failing case made small, in a file that replays
    crash     a release killed at a random moment

Only public surfaces of the package are used: the command line and the spec. `python -m tests.fuzz --help` runs it.
"""
