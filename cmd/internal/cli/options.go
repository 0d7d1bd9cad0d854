package cli

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// negative matches an argument that is a negative number, not an option.
var negative = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-[0-9]+(\.[0-9]*)?$`) })

// normalise rewrites the options of a command line from the forms that getopt_long accepts into
// those that pflag accepts. The name of an option may be shortened to a prefix that fits no
// other option. A negative number is an argument, unless the command has an option with that
// digit as its name.
func normalise(root *cobra.Command, args []string) ([]string, error) {
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return args, nil
	}
	cmd, rest, err := root.Find(args)
	if err != nil || cmd.DisableFlagParsing {
		return args, nil // unchanged: cobra's Execute finds the same error and reports it
	}
	cmd.InitDefaultHelpFlag()
	n := normaliser{cmd: cmd}
	if err := n.all(rest); err != nil || !n.changed {
		return args, err
	}
	path := strings.Fields(cmd.CommandPath())[1:]
	return slices.Concat(path, n.options, []string{"--"}, n.operands), nil
}

// normaliser sorts the words after the name of a command into options with their values, and
// operands.
type normaliser struct {
	cmd      *cobra.Command
	options  []string
	operands []string
	changed  bool
}

func (n *normaliser) all(words []string) error {
	for i := 0; i < len(words); i++ {
		word := words[i]
		switch {
		case word == "--":
			n.operands = append(n.operands, words[i+1:]...)
			return nil
		case strings.HasPrefix(word, "--"):
			flag, text, err := n.long(word)
			if err != nil {
				return err
			}
			n.options = append(n.options, text)
			i += n.value(flag, strings.Contains(text, "="), words[i+1:])
		case negative().MatchString(word) && n.cmd.Flags().ShorthandLookup(word[1:2]) == nil:
			n.operands = append(n.operands, word)
			n.changed = true
		case strings.HasPrefix(word, "-") && word != "-":
			n.options = append(n.options, word)
			flag, attached := n.short(word)
			i += n.value(flag, attached, words[i+1:])
		default:
			n.operands = append(n.operands, word)
		}
	}
	return nil
}

// value takes the value of an option from the next word, and returns how many words it took.
func (n *normaliser) value(flag *pflag.Flag, attached bool, next []string) int {
	if flag == nil || attached || flag.NoOptDefVal != "" || len(next) == 0 {
		return 0
	}
	n.options = append(n.options, next[0])
	return 1
}

// short returns the last option of a word such as -ab, and whether its value is attached to it.
func (n *normaliser) short(word string) (flag *pflag.Flag, attached bool) {
	for i := 1; i < len(word); i++ {
		flag = n.cmd.Flags().ShorthandLookup(word[i : i+1])
		if flag == nil {
			flag = n.cmd.InheritedFlags().ShorthandLookup(word[i : i+1])
		}
		if flag == nil || flag.NoOptDefVal == "" {
			return flag, i+1 < len(word)
		}
	}
	return flag, false
}

// dashes writes the name of an option with dashes in place of underscores.
func dashes(name string) string { return strings.ReplaceAll(name, "_", "-") }

// long completes the name of an option. An option of the command takes precedence over those
// that all commands have.
func (n *normaliser) long(word string) (*pflag.Flag, string, error) {
	name, value, has := strings.Cut(strings.TrimPrefix(word, "--"), "=")
	if flag := n.cmd.Flag(name); flag != nil || name == "" {
		return flag, word, nil
	}
	var matches []*pflag.Flag
	find := func(f *pflag.Flag) {
		if strings.HasPrefix(dashes(f.Name), dashes(name)) && !slices.Contains(matches, f) {
			matches = append(matches, f)
		}
	}
	n.cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			find(f)
		}
	})
	if len(matches) == 0 {
		n.cmd.LocalFlags().VisitAll(find)
		n.cmd.InheritedFlags().VisitAll(find)
	}
	switch len(matches) {
	case 0:
		return nil, word, nil // unchanged: pflag does not find such an option either, and reports the error
	case 1:
		n.changed = true
		text := "--" + matches[0].Name
		if has {
			text += "=" + value
		}
		return matches[0], text, nil
	}
	var names []string
	for _, m := range matches {
		names = append(names, "--"+m.Name)
	}
	return nil, word, Usagef("option --%s is ambiguous: %s", name, strings.Join(names, ", "))
}
