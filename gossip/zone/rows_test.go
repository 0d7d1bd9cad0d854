package zone

import (
	"testing"

	"ulnet/lnd/lndtest/rows"
)

// TestRowsNamed: each row and each decision on zones is named by the test that shows
// it. MS-A26 is about what the seed refers to: there is nothing to show.
func TestRowsNamed(t *testing.T) {
	rows.Named(t, "MS", "1-27 30-63 70-91 95-107 A1-25 A27-33", "../../cmd")
}
