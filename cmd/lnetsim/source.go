package main

import (
	"embed"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/sim/scenario"
)

//go:embed examples/*.sim
var embedded embed.FS

// exampleNames are the names of the embedded scenarios, in order.
func exampleNames() []string {
	entries, err := embedded.ReadDir("examples")
	if err != nil {
		panic(err) // cannot happen: the files are embedded in the program
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".sim")
	}
	return names
}

// exampleText returns an embedded scenario.
func exampleText(name string) ([]byte, error) {
	text, err := embedded.ReadFile(path.Join("examples", name+".sim"))
	if err != nil {
		return nil, cli.Usagef("there is no example %q: want one of %s", name, strings.Join(exampleNames(), ", "))
	}
	return text, nil
}

// source is where the scenario of a verb comes from: a file or an embedded example.
type source struct{ example string }

// add adds the flag and the check of the arguments to a verb.
func (s *source) add(c *cobra.Command) {
	c.Flags().StringVar(&s.example, "example", "", "take an embedded scenario instead of a file, see 'lnetsim examples'")
	c.Args = func(c *cobra.Command, args []string) error {
		switch {
		case s.example == "" && len(args) == 0:
			return cli.Usagef("%s needs a FILE, or --example NAME with one of %s", c.CommandPath(), strings.Join(exampleNames(), ", "))
		case s.example != "" && len(args) > 0:
			return cli.Usagef("%s takes a FILE or --example, not both", c.CommandPath())
		case len(args) > 1:
			return cli.Usagef("%s takes one FILE, got %q too", c.CommandPath(), args[1])
		}
		return nil
	}
}

// words returns arguments of a command that name the source.
func (s *source) words(args []string) []string {
	if s.example != "" {
		return []string{"--example", s.example}
	}
	return []string{quote(args[0])}
}

// quote quotes a word for a shell, if necessary.
func quote(word string) string {
	plain := func(r rune) bool {
		return r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || strings.ContainsRune("-_./+=:,@%", r)
	}
	if word != "" && !slices.ContainsFunc([]rune(word), func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// parse reads and parses the scenario.
func (s *source) parse(args []string) (*scenario.File, error) {
	if s.example != "" {
		text, err := exampleText(s.example)
		if err != nil {
			return nil, err
		}
		return scenario.Parse(s.example, text, protocols)
	}
	return parseFile(args[0])
}

func parseFile(name string) (*scenario.File, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, cli.Hint(err, "'lnetsim examples' lists scenarios to begin with")
	}
	f, err := scenario.Parse(name, text, protocols)
	return f, cli.Hint(err, "'lnetsim protocols' lists what can be simulated, with the words of each protocol")
}
