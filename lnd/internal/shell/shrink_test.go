package shell_test

import (
	"testing"

	"ulnet/lnd/internal/shell"
)

// TestShrink: the copy has the entries that are left; only a large table is copied.
func TestShrink(t *testing.T) {
	m := map[int]string{}
	most := 0
	for i := range 10_000 {
		m[i] = "x"
		most = max(most, len(m))
	}
	if same := shell.Shrink(m, &most); len(same) != 10_000 || most != 10_000 {
		t.Errorf("a full table: %d entries, most %d", len(same), most)
	}
	for i := range 10_000 {
		if i%100 != 0 {
			delete(m, i)
		}
	}
	small := shell.Shrink(m, &most)
	if len(small) != 100 || most != 100 || small[300] != "x" {
		t.Errorf("an empty table: %d entries, most %d", len(small), most)
	}
	m[1] = "y"
	if small[1] != "" {
		t.Error("the table was not copied")
	}
	if again := shell.Shrink(small, &most); len(again) != 100 {
		t.Errorf("again: %d entries", len(again))
	}
}
