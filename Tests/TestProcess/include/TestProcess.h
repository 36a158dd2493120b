// Nothing to call: what this target does it does before the tests begin.
