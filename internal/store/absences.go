package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

const (
	absencesName = "absences" // in meta: how often they have changed
	// newestAbsence is the beginning of the newest record of a change: its number is how often the log
	// says that absences have changed.
	newestAbsence = `COALESCE((SELECT substr(data, 1, 40) FROM events WHERE type IN ('person.away', 'person.back')
 ORDER BY seq DESC LIMIT 1), '')`
	countAbsences = `SELECT ` + absenceChanges + `, ` + newestAbsence
	// One statement, so that all is of one moment.
	readAbsences = countAbsences + `, a.person, a.stand_in, a.since_ms, a.until_ms, a.said_by, a.mac
 FROM (SELECT 1 AS one) o LEFT JOIN absences a ON a.person <> '' ORDER BY a.person`
	addAbsence = `INSERT INTO absences (person, stand_in, since_ms, until_ms, said_by, mac)
 VALUES ($1, $2, $3, $4, $5, $6)`
	dropAbsences = `DELETE FROM absences`
)

// Absences gives the absences that were said and not taken back, over or not. It gives an empty list if one of them
// is not believed, or if the log knows of a later change: then it is no longer known who was away.
func (s *Store) Absences(ctx context.Context) (people.Absences, error) {
	return s.keys.absences(ctx, s.read)
}

// Absent calls fn with the absences, commits what it makes of them with its event, marks
// the platform update handled (if not nil), all in one transaction, and gives them as
// they are then. It waits for the commits that count on what the policy and the absences
// have been, and the next of them waits for it. If the platform update was handled
// before, it writes no row and returns approval.ErrHandled.
func (s *Store) Absent(
	ctx context.Context, handled *approval.InboundRef, fn func(people.Absences) (core.AbsenceChange, error),
) (after people.Absences, err error) {
	err = s.doOn(ctx, locks{policy: setsPolicy}, func(t *tx) error {
		before, err := t.keys.absences(ctx, t)
		if err != nil {
			return err
		}
		c, err := fn(before)
		if t.refused = err != nil; t.refused {
			return err
		}
		switch fresh, err := t.handled(handled); {
		case err != nil:
			return err
		case !fresh:
			return approval.ErrHandled
		}
		if after = before; c.Person == "" {
			return nil
		}
		t.absences = 0
		if after, err = t.setAbsence(ctx, c, before); err == nil {
			c.Event.Data = numbered(c.Event.Data, before.Revision)
			t.own.events = append(t.own.events, c.Event)
		}
		return err
	})
	if err != nil {
		return people.Absences{}, err
	}
	return after, nil
}

// setAbsence writes one person's absence, and the revision after that one. All are written
// anew, since their MACs are over the revision.
func (t *tx) setAbsence(ctx context.Context, c core.AbsenceChange, before people.Absences) (people.Absences, error) {
	all := slices.DeleteFunc(slices.Clone(before.All), func(a people.Absence) bool { return a.Person == c.Person })
	if a := c.Absence; a != nil {
		all = append(all, people.Absence{Person: c.Person, To: a.To, SinceMs: a.SinceMs, UntilMs: a.UntilMs, By: a.By})
	}
	changes := strconv.FormatInt(before.Revision, 10) // one more than so many changes
	_, err := t.exec(setMeta, absencesName, changes)
	if err == nil {
		_, err = t.exec(dropAbsences)
	}
	for _, a := range all {
		columns := []any{a.Person, a.To, a.SinceMs, a.UntilMs, a.By}
		if err == nil {
			_, err = t.exec(addAbsence, append(columns, t.keys.rows.mac("absences", append(columns, changes)))...)
		}
	}
	if err != nil {
		return people.Absences{}, err
	}
	return t.keys.absences(ctx, t)
}

// sameAbsences refuses a change that counts a yes under absences that are not the newest. As with
// the policy, they cannot change until the commit.
func (t *tx) sameAbsences(revision int64) error {
	if revision == 0 {
		return nil
	}
	if t.absences == 0 {
		rows, err := t.rows(countAbsences)
		if err != nil {
			return err
		}
		if t.absences, err = revisionOf(rows); err != nil {
			return err
		}
	}
	if t.absences == revision {
		return nil
	}
	t.refused = true
	return core.ErrAbsences
}

func revisionOf(rows result) (int64, error) {
	var changes, newest text
	if _, err := one(rows, &changes, &newest); err != nil {
		return 0, err
	}
	n, _, err := revision(changes, newest)
	return n, err
}

// revision is one more than the changes that there were, by the store's count or by the log's newest
// record of one. older: the store's is lower, so it was put back. The log's may be: retention forgets, and
// a change in the same commit is not in it yet.
func revision(changes, newest text) (n int64, older bool, err error) {
	if changes != "" {
		n, err = strconv.ParseInt(string(changes), 10, 64)
		if err != nil || n < 1 {
			return 0, false, fmt.Errorf("the store is damaged: its count of changes to absences is %.40q instead of "+
				"a positive number", string(changes))
		}
	}
	logged := numberOf([]byte(newest))
	return max(n, logged) + 1, logged > n, nil
}

func (k keyring) absences(ctx context.Context, q querier) (all people.Absences, err error) {
	rows, err := q.query(ctx, readAbsences)
	if err != nil {
		return all, err
	}
	var changes, newest text
	doubtful := false
	err = each(rows, func() error {
		var a people.Absence
		var mac text
		err := rows.Scan(&changes, &newest, (*text)(&a.Person), (*text)(&a.To), (*number)(&a.SinceMs), (*number)(&a.UntilMs),
			(*text)(&a.By), &mac)
		if err != nil || a.Person == "" {
			return err
		}
		if k.rows != nil && !k.rows.row("absences").text(a.Person).text(a.To).number(a.SinceMs).number(a.UntilMs).
			text(a.By).text(string(changes)).fits(string(mac)) {
			_, doubtful = k.rows.doubt("absences", a.Person), true // logged and counted
		}
		all.All = append(all.All, a)
		return nil
	})
	older := false
	if err == nil {
		all.Revision, older, err = revision(changes, newest)
	}
	if err != nil {
		return people.Absences{}, err
	}
	if older && k.rows != nil {
		_ = k.rows.doubt("meta", absencesName) // logged and counted
	}
	if older || doubtful {
		all.All = nil
	}
	return all, nil
}
