"""Campaigns and stored traces on Spark. Each test that needs it uses the one session of `conftest.py`."""
