package rows

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExpand(t *testing.T) {
	got, err := expand("XY", "1-3 7 A9-10")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"XY-1", "XY-2", "XY-3", "XY-7", "XY-A10", "XY-A9"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	for _, wrong := range []string{"x", "3-1", "0", "A", "-4"} {
		if _, err := expand("XY", wrong); err == nil {
			t.Errorf("%q is taken for rows", wrong)
		}
	}
}

// TestNamed: rows are found where they stand alone, but not in the name of a goal or
// of a longer row.
func TestNamed(t *testing.T) {
	t.Run("found", func(t *testing.T) { Named(t, "XY", "1-3 7 A9-10") }) // of TestExpand
	found := func(row string) bool {
		inner := &testing.T{}
		done := make(chan struct{})
		go func() { // Fatal ends the goroutine
			defer close(done)
			Named(inner, "ZZ", row)
		}()
		<-done
		return !inner.Failed()
	}
	// In this file: G-ZZ-1, ZZ-22, (ZZ-3).
	for row, want := range map[string]bool{"1": false, "2": false, "22": true, "3": true, "4": false} {
		if found(row) != want {
			t.Errorf("row %s found: %v", row, !want)
		}
	}
}
