package program

import "testing"

// Nothing is said of statements that touch another table, or do worse than the sentence.
func TestAdversary_SQLThatDoesMoreThanIsSaid(t *testing.T) {
	for _, s := range []string{
		"UPDATE a JOIN users SET users.admin=1",    // MySQL: changes users
		"ALTER TABLE a DELETE WHERE 1",             // ClickHouse: deletes every row
		"ALTER TABLE a TRUNCATE PARTITION p0",      // MySQL: deletes its rows
		"alter table a disable row level security", // PostgreSQL: everybody sees every row
		"alter table a owner to evil",              //
		"alter table a exchange partition p with table b",
	} {
		if does, table, ok := ChangesTable(s); ok {
			t.Errorf("%q: %q %q", s, does, table)
		}
	}
}
