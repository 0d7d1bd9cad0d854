package zone

import "testing"

// TestFileFields: each line of the state files shows a field that the status has.
func TestFileFields(t *testing.T) {
	for _, f := range []interface{ Lines() []string }{parametersFile} {
		if len(f.Lines()) == 0 { // Lines panics for a field that the status does not have
			t.Error("a file without lines")
		}
	}
}
