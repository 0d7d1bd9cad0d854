package cli

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// ExitStatus is the key of the annotation with the text of the section EXIT STATUS in a command's manual
// page: lines with a code, a blank, and what the code means. It also applies to the commands below that
// have no such annotation. If no annotation applies, the page lists the usual codes 0, 1 and 2.
const ExitStatus = "exit status"

const usualExitStatus = `0 The command did what it was asked for.
1 The command did not succeed. Standard error says why, and what to do next.
2 The command line is not valid.`

// man returns the verb that writes the manual pages of root and its verbs.
func man(root *cobra.Command) *cobra.Command {
	name := root.Name()
	c := &cobra.Command{
		Use:     "man DIR",
		Short:   "Write manual pages to a directory",
		Example: "  " + root.Name() + " man /usr/local/share/man/man8",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			root.Use = name
			return writePages(root, usualExitStatus, args[0])
		},
	}
	c.Flags().StringVar(&name, "name", name, "`NAME` under which the command is installed")
	return c
}

// writePages writes the pages of a command and of those below it. Exit status is the text of the
// section of that name for commands without an annotation.
func writePages(c *cobra.Command, exitStatus, dir string) error {
	if own := c.Annotations[ExitStatus]; own != "" {
		exitStatus = own
	}
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() || sub.IsAdditionalHelpTopicCommand() {
			continue
		}
		if err := writePages(sub, exitStatus, dir); err != nil {
			return err
		}
	}
	page, err := pageOf(c, exitStatus)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "-")+".8")
	return os.WriteFile(file, []byte(page), 0o644)
}

// Roff returns text for a line of a manual page that shows it as it is.
func Roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
