package approval

// WithdrawnByRequester is the reason if the requester gave no other.
const WithdrawnByRequester = "withdrawn by the requester"
