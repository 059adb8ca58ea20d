"""The suite, and repository checks that are not tests (``tests.rules``, ``tests.dependencies``)."""
