package scenario

import "strings"

// Text is the synopsis of the condition: its name, and the names of its arguments in capitals, with
// optional ones in brackets.
func (c *Condition) Text() string { return join(c.Name, argTexts(c.Args)) }

// Text is the synopsis of the verb: its name, and the names of its arguments in capitals, with optional ones
// in brackets.
func (v *Verb) Text() string { return join(v.Name, argTexts(v.Args)) }

func argTexts(args []Arg) string {
	var parts []string
	for _, a := range args {
		text := strings.ToUpper(a.Name)
		if a.Optional {
			text = "[" + text + "]"
		}
		parts = append(parts, text)
	}
	return join(parts...)
}
