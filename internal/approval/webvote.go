package approval

// WebChannel is the channel of votes that people give on the desk's own pages. Its
// accounts are the names of people.
const WebChannel = "web"
