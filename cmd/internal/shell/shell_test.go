package shell

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ulnet/cmd/internal/cli"
)

func TestWords(t *testing.T) {
	for _, test := range []struct {
		line string
		want []string // the expected words; nil: an error
	}{
		{"", nil},
		{" \t ", nil},
		{"# net show", nil},
		{"net  show\t-v 2", []string{"net", "show", "-v", "2"}},
		{"net show # all of them", []string{"net", "show"}},
		{"peer#1 show", []string{"peer#1", "show"}},
		{`fault drop add -s '*@tcp' -d "10.0.0.[1-2]@tcp" -r 5`, []string{"fault", "drop", "add", "-s", "*@tcp", "-d", "10.0.0.[1-2]@tcp", "-r", "5"}},
		{`a "b 'c' d" 'e "f"'`, []string{"a", "b 'c' d", `e "f"`}},
		{`a\ b \# "c\"d" 'e\f'`, []string{"a b", "#", `c"d`, `e\f`}},
		{`"" x`, []string{"", "x"}},
		{"net show\r", []string{"net", "show"}},
	} {
		got, err := Words(test.line)
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%q: %q, %v, want %q", test.line, got, err, test.want)
		}
	}
	for _, line := range []string{`a "b`, `it's`} {
		if got, err := Words(line); err == nil {
			t.Errorf("%q: %q, want an error", line, got)
		}
	}
}

// TestQuotedWords: a word that is put into quotation marks is read back as the same word.
func TestQuotedWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.String(), 1, 5).Draw(t, "words")
		var line []string
		for _, w := range words {
			line = append(line, `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(w)+`"`)
		}
		got, err := Words(strings.Join(line, " "))
		if err != nil || !slices.Equal(got, words) {
			t.Fatalf("%q, %v, want %q", got, err, words)
		}
	})
}

// recorder is a tool that has the commands ok and fail.
type recorder struct{ ran []string }

func (r *recorder) shell(in string) (s *Shell, out, errs *strings.Builder) {
	out, errs = new(strings.Builder), new(strings.Builder)
	return &Shell{
		Env:    cli.Env{Stdin: strings.NewReader(in), Stdout: out, Stderr: errs},
		Prompt: "tool > ",
		Has:    func(word string) bool { return word == "ok" || word == "fail" },
		Usage:  "usage: tool\n",
		Run: func(args []string) int {
			r.ran = append(r.ran, strings.Join(args, " "))
			fmt.Fprintln(out, args[0])
			return map[string]int{"fail": 234}[args[0]]
		},
	}, out, errs
}

// TestScript: commands of a file run in turn, until one fails.
func TestScript(t *testing.T) {
	for _, test := range []struct {
		name, in  string
		ran       []string
		code      int
		out, errs string
	}{
		{"nothing", "", nil, 0, "", ""},
		{"commands", "ok 1\n\n# ok 2\nok '3 4'\n", []string{"ok 1", "ok 3 4"}, 0, "ok\nok\n", ""},
		{"no newline at the end", "ok 1", []string{"ok 1"}, 0, "ok\n", ""},
		{"quit", "ok 1\nquit\nok 2\n", []string{"ok 1"}, 0, "ok\n", ""},
		{"exit", "exit\nok 2\n", nil, 0, "", ""},
		{"failure", "fail\nok 1\n", []string{"fail"}, 234, "fail\n", ""},
		{"unknown", "nosuch\nok 1\n", nil, 255, "usage: tool\n", ""},
		{"odd quotation marks", "ok 'x\nok 1\n", nil, 2, "", "a quotation mark is missing at the end of a text in quotation marks\n"},
		{"errors ignored", "ignore_errors\nfail\nnosuch\nok 1\n", []string{"fail", "ok 1"}, 0, "fail\nusage: tool\nok\n", ""},
		{"a line without end", "ok " + strings.Repeat("x", maxLine), nil, 1, "", "a line of commands has more than 65536 bytes\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var r recorder
			s, out, errs := r.shell(test.in)
			if code := s.Loop(); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			if diff := cmp.Diff(test.ran, r.ran); diff != "" {
				t.Errorf("commands (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.out, out.String()); diff != "" {
				t.Errorf("stdout (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.errs, errs.String()); diff != "" {
				t.Errorf("stderr (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHistory: repeated and empty lines are not kept, and the number of kept lines is bounded.
func TestHistory(t *testing.T) {
	var h history
	for i := range maxHistory + 10 {
		for _, line := range []string{fmt.Sprintf("net show -v %d", i), "", fmt.Sprintf(" net show -v %d ", i)} {
			h.Add(line)
		}
	}
	if h.Len() != maxHistory || h.At(0) != fmt.Sprintf("net show -v %d", maxHistory+9) || h.At(maxHistory-1) != "net show -v 10" {
		t.Errorf("%d lines, from %q to %q", h.Len(), h.At(h.Len()-1), h.At(0))
	}
}
