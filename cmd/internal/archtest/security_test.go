package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestSecurityIsShown: each test that docs/security.md names exists.
func TestSecurityIsShown(t *testing.T) {
	const root = "../../.."
	text, err := os.ReadFile(filepath.Join(root, "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`([a-z0-9/_]+)\.(Test\w+)`).FindAllStringSubmatch(string(text), -1)
	if len(named) < 50 {
		t.Fatalf("%d tests named", len(named))
	}
	for _, name := range named {
		files, err := filepath.Glob(filepath.Join(root, name[1], "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		test := regexp.MustCompile(`(?m)^func ` + name[2] + `\(`)
		found := false
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found = found || test.Match(source)
		}
		if !found {
			t.Errorf("%s has no %s", name[1], name[2])
		}
	}
}
