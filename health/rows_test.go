package health

import (
	"testing"

	"ulnet/lnd/lndtest/rows"
)

// TestRowsNamed: each row and each decision on client health is named by the test that
// shows it.
func TestRowsNamed(t *testing.T) { rows.Named(t, "CH", "1-68 A1-22", "../cmd") }
