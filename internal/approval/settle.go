package approval

// ClaimWindowMs is how long after approval a call may be claimed.
const ClaimWindowMs = 5 * 60 * 1000
