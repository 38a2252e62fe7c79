package platform

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A row answers everything that a row is asked.
func TestRows_AreWhole(t *testing.T) {
	for _, r := range Rows {
		for _, word := range []string{r.Name, r.Title, r.Place, r.Example, r.APIURL, r.Token, r.Pulled} {
			require.NotEmpty(t, word, r.Name)
		}
		require.NotNil(t, r.WrongUser, r.Name)
		require.Same(t, &Rows[0], ByName(Rows[0].Name))
	}
	require.Nil(t, ByName("slack"))
}

func TestRows_HowIdsAreWritten(t *testing.T) {
	for _, c := range []struct{ platform, to, user string }{
		{"telegram", "5", "5"}, {"telegram", "-5", ""}, {"discord", "5", ""}, {"discord", "dm:5", "5"},
	} {
		r := ByName(c.platform)
		require.NoError(t, r.CheckPlace(c.to))
		user, private := r.User(c.to)
		require.Equal(t, c.user != "", private, c.to)
		if private {
			require.Equal(t, c.user, user)
			require.Equal(t, c.to, r.Private(user))
		}
	}
	for platform, to := range map[string]string{"telegram": "dm:5", "discord": "-5"} {
		require.Error(t, ByName(platform).CheckPlace(to))
		require.Error(t, ByName(platform).CheckPlace(""))
	}
}

func TestRows_WhoCannotBeAPerson(t *testing.T) {
	for _, c := range []struct{ platform, id, problem string }{
		{"telegram", "4503599627370496", ""},
		{"telegram", "4503599627370497", "is not a Telegram user id"},
		{"telegram", "-7", "is the id of a group or channel; only people may be listed here"},
		{"telegram", "777000", "is the id of Telegram itself, never a person's"},
		{"discord", "222222222222222222", ""},
		{"discord", "0", "is not a Discord id"},
		{"discord", "9223372036854775807", "is not a Discord id"},
	} {
		require.Equal(t, c.problem, ByName(c.platform).WrongUser(c.id), c.id)
	}
}

func TestList(t *testing.T) {
	require.Equal(t, "telegram or discord", List("or"))
	require.Equal(t, "a, b nor c", Join([]string{"a", "b", "c"}, "nor"))
	require.Equal(t, "a", Join([]string{"a"}, "or"))
}
