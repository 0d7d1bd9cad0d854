package archtest

import (
	"fmt"
	"go/ast"
	"regexp"
	"strings"
	"unicode"
)

// private maps each word that only this project would understand, or that names a person
// although no person acts, to words to use instead. GLOSSARY.md explains the terms. Words are
// whole parts of identifiers, and whole words of comments and documents, in upper or lower
// case.
var private = map[string]string{
	"loan": "hand-over of the read loop", "lend": "hand over", "lends": "hands over", "lent": "handed over",
	"lender": "what hands over", "lending": "hand-over",
	"kid": "child", "kids": "children",
	"fate": "outcome", "fates": "outcomes", "verdict": "outcome, or violations", "verdicts": "outcomes",
	"brake": "rate limit, or back-off", "brakes": "rate limits", "hoarder": "the node that keeps too much",
	"whim": "random fault", "whims": "random faults",
	"pardon": "clear a suspicion", "pardons": "clears", "pardoned": "cleared",
	"grave": "tombstone", "graves": "tombstones",
	"life":    "incarnation",
	"whoever": "the node, program or goroutine that", "whom": "the node, program or goroutine that",
	"nobody": "no node, no program", "somebody": "a node, a program", "everybody": "every node, all members", "anybody": "any node, any program",
	"he": "it, or the program", "him": "it", "his": "its", "himself": "itself",
}

// privateParts are forbidden only as parts of identifiers: in prose they have their usual
// meaning.
var privateParts = map[string]string{
	"place": "position, slot, index, rank or path", "places": "positions, slots, indexes, ranks or paths",
	"lives": "incarnations", "truth": "groundTruth",
}

// phrases are regular expressions for phrases that prose must not contain.
var phrases = []struct {
	re      *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?i)\bwho\b`), `"who" follows people alone: the node that, the goroutine that`},
	{regexp.MustCompile(`(?i)\btruths?\b`), "ground truth"},
}

// people matches what is allowed although a phrase above matches in it: the relative pronoun after
// a noun for people, and the term "ground truth".
var people = regexp.MustCompile(`(?i)\b(users?|operators?|admin(istrator)?s?|engineers?|readers?|researchers?|people|person|those|anyone|someone|attackers?|adversar(y|ies)) who\b|\bground truth\b`)

// Words returns a line for each private word in a package's identifiers and comments.
func Words(p *Package) []string {
	var bad []string
	for _, f := range p.Files {
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				for _, part := range parts(strings.ReplaceAll(id.Name, "roundTruth", "round")) { // groundTruth is allowed, because it is a term
					if instead := either(part); instead != "" {
						bad = append(bad, fmt.Sprintf("%s: %s has %q, say %s", f.Fset.Position(id.Pos()), id.Name, part, instead))
					}
				}
			}
			return true
		})
		for _, group := range f.AST.Comments {
			for _, c := range group.List {
				at := f.Fset.Position(c.Pos())
				for i, line := range strings.Split(c.Text, "\n") {
					for _, what := range Prose(line) {
						bad = append(bad, fmt.Sprintf("%s:%d: %s", at.Filename, at.Line+i, what))
					}
				}
			}
		}
	}
	return bad
}

func either(part string) string {
	if instead := privateParts[part]; instead != "" {
		return instead
	}
	return private[part]
}

// Prose returns the forbidden words and phrases in a line of prose, with words to use instead.
func Prose(line string) []string {
	var bad []string
	line = people.ReplaceAllString(line, "")
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return !unicode.IsLetter(r) && r != '_' }) {
		if instead := private[strings.ToLower(word)]; instead != "" {
			bad = append(bad, fmt.Sprintf("%q: say %s", word, instead))
		}
	}
	for _, p := range phrases {
		if p.re.MatchString(line) {
			bad = append(bad, p.instead)
		}
	}
	return bad
}

// parts returns the words of an identifier in lower case: maxPlaceSize is max, place, size.
func parts(name string) []string {
	var words []string
	start := 0
	runes := []rune(name)
	for i := 1; i <= len(runes); i++ {
		if i == len(runes) || runes[i] == '_' || unicode.IsUpper(runes[i]) && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			words = append(words, strings.ToLower(strings.Trim(string(runes[start:i]), "_")))
			start = i
		}
	}
	return words
}
