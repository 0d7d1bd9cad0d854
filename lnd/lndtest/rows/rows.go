// Package rows sees to it that each row of docs/spec has a test that names
// it.
package rows

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Named fails for the rows of a list that no test names: none in the working
// directory or below, and none in other directories. A list is "SC", say, and rows
// are numbers and spans like "1-57 60 A1-30", which stand for SC-1 to SC-57, SC-60
// and the decisions SC-A1 to SC-A30. Goals do not count: they are G-SC-1 and so on.
func Named(t *testing.T, list, rows string, others ...string) {
	t.Helper()
	missing, err := expand(list, rows)
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`(?:^|[^-\w])(` + regexp.QuoteMeta(list) + `-A?[0-9]+)\b`)
	for _, dir := range append([]string{"."}, others...) {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, row := range name.FindAllStringSubmatch(string(text), -1) {
				delete(missing, row[1])
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(missing) > 0 {
		t.Errorf("no test names %v", slices.Sorted(maps.Keys(missing)))
	}
}

// Documented is Named for the rows that a document has in the first column of its
// tables.
func Documented(t *testing.T, document, list string, others ...string) {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| <a id="[^"]+"></a>` + regexp.QuoteMeta(list) + `-([0-9]+) \|`)
	var numbers []string
	for _, found := range row.FindAllStringSubmatch(string(text), -1) {
		numbers = append(numbers, found[1])
	}
	if len(numbers) == 0 {
		t.Fatalf("%s has no rows %s", document, list)
	}
	Named(t, list, strings.Join(numbers, " "), others...)
}

// expand returns the rows that numbers and spans stand for.
func expand(list, rows string) (map[string]bool, error) {
	all := map[string]bool{}
	for _, span := range strings.Fields(rows) {
		decision := ""
		numbers, found := strings.CutPrefix(span, "A")
		if found {
			decision = "A"
		}
		var first, last int
		if n, _ := fmt.Sscanf(numbers, "%d-%d", &first, &last); n == 1 {
			last = first
		}
		if first < 1 || last < first {
			return nil, fmt.Errorf("%q is no number and no span", span)
		}
		for i := first; i <= last; i++ {
			all[fmt.Sprintf("%s-%s%d", list, decision, i)] = true
		}
	}
	return all, nil
}
