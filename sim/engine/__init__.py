"""The replay itself, arrays in and arrays out: lanes in lockstep, the static ladder, the clairvoyant."""
