package store

import (
	"context"
	"slices"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

const (
	noteSilence = `INSERT INTO silences (channel, chat, since_ms, tried_ms) VALUES ($1, $2, $3, $4)
 ON CONFLICT (channel, chat) DO UPDATE SET tried_ms = excluded.tried_ms`
	breakSilence   = `DELETE FROM silences WHERE channel = $1 AND chat = $2`
	selectSilences = `SELECT channel, chat, since_ms, tried_ms FROM silences`
)

// hear writes down whether a chat answered a try, if that has changed. Only cards ask
// people, so calls back and notifications are left out.
func (s *Store) hear(t *tx, place approval.Target, what approval.SendOutcome) (err error) {
	chat := place.Normal().Chat()
	if what == approval.NotSent || chat.Channel == approval.CallbackChannel || chat.Channel == core.PushChannel {
		return nil
	}
	answered := what == approval.Answered
	switch inBatch := slices.ContainsFunc(t.done.heard, func(h heard) bool { return h.chat == chat }); {
	case !answered:
		now := nowMs()
		err = t.put(noteSilence, chat.Channel, chat.To, now, now)
	case s.answering.is(chat) && !inBatch:
		return nil
	default:
		err = t.put(breakSilence, chat.Channel, chat.To)
	}
	t.own.heard = append(t.own.heard, heard{chat, answered})
	return err
}

// Unreachable gives the chats whose last try went unanswered.
func (s *Store) Unreachable(ctx context.Context) (map[approval.Target]approval.Unreachable, error) {
	rows, err := s.read.query(ctx, selectSilences)
	if err != nil {
		return nil, err
	}
	all := map[approval.Target]approval.Unreachable{}
	err = each(rows, func() error {
		var chat approval.Target
		var silence approval.Unreachable
		err := rows.Scan((*text)(&chat.Channel), (*text)(&chat.To), (*number)(&silence.SinceMs), (*number)(&silence.TriedMs))
		all[chat] = silence
		return err
	})
	return all, err
}
