package card

import (
	"maps"

	"approvalbot/internal/approval"
)

// ReasonsOnCards are the codes that cards have words or an order for.
func ReasonsOnCards() map[string]bool {
	codes := maps.Clone(mildReasons())
	maps.Copy(codes, reasonsOfDetail())
	for code := range briefly() {
		codes[code] = true
	}
	for code := range keywordReasons() {
		codes[code] = true
	}
	for code, by := range subsumedBy() {
		codes[code] = true
		for _, other := range by {
			codes[other] = true
		}
	}
	delete(codes, approval.ReasonMustAsk)
	return codes
}
