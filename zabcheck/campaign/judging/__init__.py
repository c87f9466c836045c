"""Stored traces, judged on Spark by the judge of `zabcheck check`: Spark only deals out the work.

`shares` divides the traces, `task` judges a share, `checking` adds up the results of the tasks.
"""
