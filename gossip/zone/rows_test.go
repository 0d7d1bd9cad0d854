package zone

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestRowsNamed: each row of the conformance list that is ours, and each decision,
// stands in the test that shows it: here, in the packages below, or in those of
// cmd that use this one.
func TestRowsNamed(t *testing.T) {
	rows := map[string]bool{}
	for _, span := range [][2]int{{1, 27}, {30, 63}, {70, 91}, {95, 107}} {
		for i := span[0]; i <= span[1]; i++ {
			rows["MS-"+strconv.Itoa(i)] = true
		}
	}
	for i := 1; i <= 33; i++ {
		rows["MS-A"+strconv.Itoa(i)] = true
	}
	delete(rows, "MS-"+"A26")                                 // of the seed's references: there is nothing to show
	name := regexp.MustCompile(`(?:^|[^-\w])(MS-A?[0-9]+)\b`) // goals are G-MS-1 and so on
	for _, dir := range []string{".", "../../cmd"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, row := range name.FindAllStringSubmatch(string(text), -1) {
				delete(rows, row[1])
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(rows) > 0 {
		t.Errorf("no test names %v", slices.Sorted(maps.Keys(rows)))
	}
}
