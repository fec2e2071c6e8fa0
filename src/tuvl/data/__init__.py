"""Records in SQL: data models as tables, the session of each step, and the store of runs; the importer of SQLAlchemy.

Modules that import SQLAlchemy are themselves imported when a run first needs them, so that other runs do not pay.
"""
