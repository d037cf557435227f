"""Rules about the project itself.

Each rule is a function over a root folder that lists what breaks it, as
``path:line what``; each has a test that plants a violation and sees it named.
"""
