package approval

// NobodyDecided is the reason of an approval that expired without a vote.
const NobodyDecided = "nobody decided in time"
