package cli

import (
	"strings"

	"ulnet/lnet/nid"
)

// NIDList joins NIDs for an error or a hint; an empty list becomes "on no network".
func NIDList(ids []nid.NID) string {
	if len(ids) == 0 {
		return "on no network"
	}
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	return strings.Join(texts, " ")
}

// YesNo returns the text of a boolean for people to read.
func YesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
