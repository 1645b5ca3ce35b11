"""The statements of the audit: classes, values, models and the population of any table as it stands.

They share no SQL with the search; the kernel `sql` is all they build on.
"""
