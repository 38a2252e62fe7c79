package store

import (
	"approvalbot/core"
)

// A statement on a shared database costs a round trip to its server, and a batch has
// many. So a statement whose outcome no job waits for is sent along with the next one
// whose outcome is needed (later), and what jobs will look up first is looked up for all
// of them together (prefetch): a batch of any size takes three round trips. SQLite needs
// no round trips, and every statement is run at once.
//
// A statement that fails later than it was asked for fails the batch, which is then
// tried again carefully: job by job, with every statement run at once.

// readsOf are the look-ups of [tx.lookup].
func readsOf(look core.Lookup) (all []read) {
	for _, id := range []string{look.ID, look.Supersedes} {
		if id != "" {
			all = append(all, read{approvalByID, []any{id, look.Owner}, []int64{idName(look.Owner, id)}})
		}
	}
	if look.ID != "" {
		all = append(all, read{meaningOf, []any{look.ID, look.Owner}, []int64{idName(look.Owner, look.ID)}})
	}
	if first, end := core.KeysCalled(look.ID); first != "" {
		all = append(all, read{oneBetween, []any{first, end}, []int64{codeName(core.KeyCode(first))}})
	}
	if look.SessionKey != "" {
		all = append(all, read{keysOfSame, []any{look.Owner, look.Fingerprint, look.AgentID, look.SessionKey},
			[]int64{sameName(look.Owner, look.AgentID, look.SessionKey, look.Fingerprint)}})
	}
	if look.Grants {
		all = append(all, read{grantsOfCall, grantArgs(look), []int64{grantsName}})
	}
	return append(all, read{countPending, []any{look.Owner}, nil}, read{text: readPolicy})
}

// prefetch asks what the jobs will look up.
func (b *batch) prefetch(jobs []*job) error {
	b.prefetched = prefetched{of: map[int64][]string{}, changed: map[string]bool{}}
	b.kept = map[string]*answer{}
	for _, j := range jobs {
		for _, r := range j.on.reads {
			if storableArgs(r.args) != nil {
				continue // the job itself will fail
			}
			text := r.text + b.dialect.locking[r.text]
			name := keptAs(text, r.args)
			if _, asked := b.kept[name]; asked {
				continue // the job before may change it
			}
			b.kept[name] = nil
			b.queue = append(b.queue, queued{text: text, args: r.args, must: anyNumber, keep: name})
			for _, n := range r.of {
				b.prefetched.of[n] = append(b.prefetched.of[n], name)
			}
		}
	}
	return nil
}
