package approval

// WithdrawnByRequester is the reason where the requester gave none.
const WithdrawnByRequester = "withdrawn by the requester"
