package people

import (
	"fmt"

	"approvalbot/internal/approval"
)

// maxFillings bounds the work of [fill].
const maxFillings = 4096

// A seat is one place in a quorum. It counts one person's yes. Each choice is a
// person that the yes may be counted for, given as the needs that this person meets.
type seat struct{ choices [][]bool }

// fill gives how many of each need the seats meet at best, each by one of its choices.
func fill(needs []approval.Need, seats []seat) []int {
	best, states := make([]int, len(needs)), [][]int{make([]int, len(needs))}
	for _, s := range seats {
		seen := map[string]bool{}
		var next [][]int
		for i, choice := range append([][]bool{nil}, s.choices...) {
			if i > 1 && len(states) > maxFillings {
				break // the voter's own
			}
			for _, state := range states {
				met := add(needs, state, choice)
				if key := fmt.Sprint(met); !seen[key] {
					seen[key], next = true, append(next, met)
				}
			}
		}
		states = next
	}
	for _, state := range states {
		if sum(state) > sum(best) {
			best = state
		}
	}
	return best
}

// add gives the needs met after one more choice, each capped at what is needed.
func add(needs []approval.Need, met []int, choice []bool) []int {
	out := make([]int, len(met))
	for i, n := range met {
		if out[i] = n; i < len(choice) && choice[i] {
			out[i] = min(n+1, needs[i].Min)
		}
	}
	return out
}

func sum(numbers []int) (total int) {
	for _, n := range numbers {
		total += n
	}
	return total
}
