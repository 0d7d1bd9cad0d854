package installtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the root of the repository.
const root = "../../.."

// units is the folder with the units of systemd, their drop-ins, and the other files for systemd.
var units = filepath.Join(root, "contrib", "systemd")

// unit is what a unit and its drop-ins say: the values of each key in their order.
type unit map[string][]string

// readUnit reads a unit, and then its drop-ins. An empty value of a key removes the earlier values of that
// key.
func readUnit(t *testing.T, names ...string) unit {
	t.Helper()
	u := unit{}
	for _, name := range names {
		for line := range strings.Lines(readFile(t, filepath.Join(units, name))) {
			line = strings.TrimSpace(line)
			key, value, ok := strings.Cut(line, "=")
			switch {
			case line == "" || line[0] == '#' || line[0] == '[':
			case !ok:
				t.Fatalf("%s: %q is no assignment", name, line)
			case value == "":
				delete(u, key)
			default:
				u[key] = append(u[key], value)
			}
		}
	}
	return u
}

// one returns the last value of a key, which is the one that counts; "": the unit has none.
func (u unit) one(key string) string {
	if n := len(u[key]); n > 0 {
		return u[key][n-1]
	}
	return ""
}

// words returns the words of all values of a key, sorted.
func (u unit) words(key string) []string {
	list := strings.Fields(strings.Join(u[key], " "))
	slices.Sort(list)
	return slices.Compact(list)
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
