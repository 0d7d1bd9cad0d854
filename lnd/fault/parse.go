package fault

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ulnet/lnd/link"
	"ulnet/lnet/faultrule"
	"ulnet/lnet/nid"
)

// The words of a rule, besides those of link.Change.
const (
	fromWord   = "from"
	toWord     = "to"
	typeWord   = "type"
	portalWord = "portal"
	cutWord    = "cut"
)

// maxRule bounds the text of a rule or partition in bytes.
const maxRule = 4096

// ParseRule parses the text of a rule: which messages, by
//
//	from NIDS   to NIDS   type PUT,ACK   portal 4
//
// each of them at most once, and what happens to them: cut, or the changes that
// link.ParseChange parses, except a rate. For example
//
//	from 10.0.0.[1-5]@tcp to all type PUT loss 5% latency 10ms±2ms
//
// An error says which word is wrong and what is allowed.
func ParseRule(text string) (Rule, error) {
	if len(text) > maxRule {
		return Rule{}, fmt.Errorf("rule of more than %d bytes", maxRule)
	}
	p := ruleParser{words: strings.Fields(text)}
	for len(p.words) > 0 && p.err == nil {
		p.next()
	}
	p.finish()
	return p.rule, p.err
}

type ruleParser struct {
	words  []string // words of the text that are not parsed yet
	rule   Rule
	seen   []string // keys of the rule that were parsed already
	change []string // words that are left for link.ParseChange
	err    error
}

// next parses a key and its value.
func (p *ruleParser) next() {
	key := p.words[0]
	p.words = p.words[1:]
	if slices.Contains(p.seen, key) {
		p.err = fmt.Errorf("%s is given twice", key)
		return
	}
	p.seen = append(p.seen, key)
	var err error
	switch key {
	case fromWord:
		p.rule.From, err = nid.ParseSet(p.untilKey())
	case toWord:
		p.rule.To, err = nid.ParseSet(p.untilKey())
	case typeWord:
		p.rule.Types, err = faultrule.ParseTypes(p.word())
	case portalWord:
		p.rule.Portals, err = faultrule.ParsePortals(p.word())
	case cutWord:
		p.rule.Cut = true
	default:
		if !isLinkWord(key) {
			p.err = fmt.Errorf("unknown word %q: want from, to, type, portal to choose messages, and cut, %s", key, linkWords())
			return
		}
		p.change = append(p.change, key)
		if len(p.words) > 0 {
			p.change = append(p.change, p.word())
		}
	}
	if err != nil {
		p.err = fmt.Errorf("%s: %w", key, err)
	}
}

// word removes the next word from p.words and returns it; "" if there is none.
func (p *ruleParser) word() (w string) {
	if len(p.words) > 0 {
		w, p.words = p.words[0], p.words[1:]
	}
	return w
}

// untilKey removes the words before the next key from p.words, and returns them as one text.
func (p *ruleParser) untilKey() string {
	n := slices.IndexFunc(p.words, isKey)
	if n < 0 {
		n = len(p.words)
	}
	text := strings.Join(p.words[:n], " ")
	p.words = p.words[n:]
	return text
}

// finish checks that the parts of a rule fit together.
func (p *ruleParser) finish() {
	switch {
	case p.err != nil:
	case p.rule.Cut && len(p.change) > 0:
		p.err = fmt.Errorf("cut and %s: where nothing passes nothing else happens", p.change[0])
	case p.rule.Cut:
	case len(p.change) == 0:
		p.err = fmt.Errorf("the rule does nothing: want cut, %s", linkWords())
	default:
		p.rule.Change, p.err = link.ParseChange(p.change)
	}
	if p.err == nil && p.rule.Change.Fields&link.FieldRate != 0 {
		p.err = errors.New("rate: real links have theirs; 'tc qdisc' makes them slower")
	}
}

func isKey(w string) bool {
	return w == fromWord || w == toWord || w == typeWord || w == portalWord || w == cutWord || isLinkWord(w)
}

func isLinkWord(w string) bool {
	return slices.Contains(strings.Split(link.Words(), ", "), w)
}

// linkWords lists the keys of package link for error messages.
func linkWords() string {
	return strings.Join(slices.DeleteFunc(strings.Split(link.Words(), ", "), func(w string) bool { return w == "rate" }), ", ")
}
