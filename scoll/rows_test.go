package scoll_test

import (
	"testing"

	"ulnet/lnd/lndtest/rows"
)

// TestRowsNamed: each row and each decision on collectives is named by the test that
// shows it. Routers (SC-7) are out of scope, set operations (SC-98) are for later.
func TestRowsNamed(t *testing.T) {
	rows.Named(t, "SC", "1-6 8-57 60-64 66-73 80-97 99-103 110-127 130-142 150-159 A1-30", "../cmd")
}
