// Package spec lets a test claim the rows of docs/spec that it shows. The call is the
// claim: cmd/internal/archtest reads it from source, and fails for ids that are no row and
// for rows that no test claims. A mention of a row in a comment claims nothing.
package spec

import (
	"strings"
	"testing"
)

// Covers claims for the test t the rows, decisions or goals with these ids, such as
// "SC-12", "CH-A16" and "G-GO-8". The ids have to be string literals. When the test runs,
// go test -v prints them as its attribute "covers"; nothing else depends on the call.
func Covers(t testing.TB, ids ...string) {
	t.Helper()
	t.Attr("covers", strings.Join(ids, " "))
}
