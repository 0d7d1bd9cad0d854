package cli

import (
	"strings"

	"ulnet/lnet/nid"
)

// NIDList joins NIDs for an error or a hint; without NIDs it is "on no network".
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

// YesNo returns a boolean as it is shown to people.
func YesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
