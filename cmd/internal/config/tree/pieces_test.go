package tree

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// inPieces reads a text in pieces of the given size, none longer than largest.
func inPieces(text []byte, size, largest int) (*File, error) {
	if err := checkLimits(text); err != nil {
		return nil, err
	}
	f := new(File)
	err := f.readPieces(pieces(WithLineFeeds(text), size), largest)
	f.tellIgnored()
	return f, err
}

// said returns the contents of a file, with the lines of items and errors.
func said(t *testing.T, f *File) string {
	t.Helper()
	var b strings.Builder
	for _, s := range f.Sections {
		fmt.Fprintf(&b, "%s in line %d\n", s.Key, s.Line)
		for _, i := range s.Items {
			text, err := json.Marshal(i)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s\n", text)
		}
		for _, e := range s.Errs {
			fmt.Fprintf(&b, "%v\n", e)
		}
	}
	fmt.Fprint(&b, f.Warnings, f.unknown)
	return b.String()
}

// TestPieces: reading a text in pieces gives the same contents, with the same line numbers, as
// reading it as a whole.
func TestPieces(t *testing.T) {
	texts := [][]byte{
		[]byte("# first\n---\nroute:\n# second\n- net: tcp2\n  gateway: 10.0.0.1@tcp\n- net: tcp3\n"),
		[]byte("peer:\n  - primary nid: 10.0.0.1@tcp\n\n    # inner\n  - a: 1\n  - primary nid: nosuch\n  - primary nid: 10.0.0.2@tcp\nnosuch: 1\n"),
		[]byte("net: [{net type: tcp}]\nglobal: {retry_count: 1}\n---\nglobal:\n    retry_count: 2\nudsp:"),
	}
	for _, name := range []string{"export.yaml", "backup.yaml", "router.yaml", "routing.yaml", "udsp.yaml", "good.yaml"} {
		texts = append(texts, recorded(t, name))
	}
	for i, text := range texts {
		whole, err := Read(text)
		if err != nil {
			t.Fatalf("text %d: %v", i, err)
		}
		for _, size := range []int{1, 40, 1000} {
			parts, err := inPieces(text, size, wholeSize)
			if err != nil {
				t.Errorf("text %d, pieces of %d: %v", i, size, err)
				continue
			}
			if got, want := said(t, parts), said(t, whole); got != want {
				t.Errorf("text %d, pieces of %d:\n%s\nwant\n%s", i, size, got, want)
			}
		}
	}
}

// lines matches the line numbers in the text that the function said returns.
var lines = regexp.MustCompile(`(line |"Line":|&\{[^}]* )[0-9]+`)

// FuzzPieces: a text that a tool or a person could write (see grow) has the same contents, whether it is read
// in pieces or as a whole, and no text makes reading in pieces panic. Line numbers are not compared, because
// the parser gives a scalar of several lines another line number at the end of a text than elsewhere.
// Arbitrary texts are not compared either, because the results would only show how the parser treats invalid
// YAML.
func FuzzPieces(f *testing.F) {
	for _, name := range []string{"backup.yaml", "routing.yaml", "udsp.yaml", "good.yaml"} {
		f.Add(recorded(f, name), 1)
	}
	f.Add([]byte("peer:\n- a: |\n   - b\n- c: 'x\n  - y'\n# d\n-\n"), 1)
	f.Add([]byte("net:\n-     x\n      y\n- : p\nudsp:\n    -"), 1)
	f.Add([]byte("#\r0"), 51)
	f.Fuzz(func(t *testing.T, choices []byte, size int) {
		_, _ = inPieces(choices, size, wholeSize)
		text := grow(choices)
		parts, err := inPieces(text, size, wholeSize)
		whole, wrong := Read(text)
		if (err == nil) != (wrong == nil) {
			t.Fatalf("in pieces of %d: %v, as a whole: %v\n%s", size, err, wrong, text)
		}
		if err != nil || len(text) > wholeSize {
			return
		}
		if got, want := lines.ReplaceAllString(said(t, parts), ""), lines.ReplaceAllString(said(t, whole), ""); got != want {
			t.Fatalf("in pieces of %d:\n%s\nas a whole:\n%s\nof\n%s", size, got, want, text)
		}
	})
}

// TestPiecesRefused: a text that cannot be split into pieces is refused, and so is a document
// that has a key twice.
func TestPiecesRefused(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"peer: [\n" + strings.Repeat(" 1,\n", 2000) + " ]\n", "line 1: more than 4 KiB in one item, or in what is no list"},
		{"global:\n" + strings.Repeat("  a: 1\n", 2000), "line 1: more than 4 KiB"},
		{"route:\n- a: 1\n- a: |\n" + strings.Repeat("    b\n", 2000), "line 1: more than 4 KiB"},
		{" a: 1\nnet:\n", "line 1: Malformed input. Expect a key found 'a: 1'"},
		{"net:\n" + strings.Repeat("- net type: tcp\n", 400) + "net:\n", "line 402: the key 'net' is in line 1 already"},
		{"net:\n" + strings.Repeat("- net type: tcp\n", 400) + "  &a b\n", "Scanner error: non-map value is specified at line 402, column 3"},
		{"net:\n" + strings.Repeat("- net type: tcp\n", 400) + "- net type: &a tcp\n", "line 402: anchors and aliases are not supported"},
	} {
		if _, err := inPieces([]byte(c.text), 1000, 4<<10); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text[:10], err, c.want)
		}
	}
	if _, err := Read([]byte("net:\n" + strings.Repeat(" a: 1\n", wholeSize/5))); err == nil || !strings.Contains(err.Error(), "more than 1024 KiB") {
		t.Errorf("a long file: %v", err)
	}
}

// TestManyWarnings: the number of warnings is bounded by what a person can read.
func TestManyWarnings(t *testing.T) {
	f, err := Read([]byte("peer:\n" + strings.Repeat("- a: 1\n", maxWarn+7)))
	if err != nil || len(f.Warnings) != maxWarn+2 || f.Warnings[maxWarn+1] != "and 7 more" {
		t.Errorf("%d warnings, the last %q, %v", len(f.Warnings), f.Warnings[len(f.Warnings)-1], err)
	}
}

// TestLinesOfOtherSystems: errors and warnings name the same lines, whichever characters end the lines.
func TestLinesOfOtherSystems(t *testing.T) {
	text := "# comment\nroute:\n- # comment\n  net: tcp1\n  gateway: 10.0.0.1@tcp\n  unknown: 1\n"
	want, err := Read([]byte(text))
	if err != nil || len(want.Warnings) != 1 || !strings.Contains(want.Warnings[0], "line 6") {
		t.Fatalf("%+v, %v", want, err)
	}
	for _, end := range []string{"\r\n", "\r"} {
		f, err := Read([]byte(strings.ReplaceAll(text, "\n", end)))
		if err != nil || said(t, f) != said(t, want) || f.Warnings[0] != want.Warnings[0] {
			t.Errorf("lines end with %q:\n%v, %v\nwant\n%v", end, f.Warnings, err, want.Warnings)
		}
	}
}
