// Package finding lists all that policy can find of a call. A [Code] is one such thing: it has a
// name for machines, a fixed risk class, side effects and one sentence for people, all in one row
// of [Reasons]. Only its codes give a class to what a call does.
//
//	recursive-delete   R4   filesystem_write, data_loss   "It deletes whole directories."
//
// A [Set] holds the codes of a call, a bit each. The readers of policy add to it, so that reading
// more of a call does not lower its class: the class of a set is that of its worst code
// ([Set.Class]), its side effects are those of all ([Set.Effects]), and what explains the class
// comes first in what people see ([Set.List]). Configurations and agents know the names: they may
// be added, and are not renamed.
//
// Some sets have a meaning of their own, by which stages of policy decide: [Opaque] findings leave
// a part of the call unread, so its text is searched for destructive words; [Unrecognised] ones may
// be settled by a classifier; [Unsure] ones rest on not knowing what the call does.
//
// A new finding is a constant in codes.go, its row in reasons.go, and a reader that adds it.
package finding
