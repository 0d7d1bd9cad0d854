package archtest

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// maxLines is the number of lines above which a file must be split by concern.
const maxLines = 600

// folders are the only folders at the root that may contain code.
const folders = "lnet/... lnd/... portals/... gossip/... scoll/... health/... cmd/..."

// clockless packages also run in virtual time: they start no goroutine, and read no clock
// except the one that they are given.
const clockless = "lnet lnet/nid lnet/wire lnet/latency lnet/recovery lnet/discovery lnet/selftest/... portals lnd lnd/lo lnd/socklnd/ksock lnd/simlnd " +
	"gossip/... scoll/... health health/collective health/engine health/healthsim health/wire" // health/boltstore is missing, as it writes to a disk

// clockFuncs are the functions of package time that read or wait for a clock.
var clockFuncs = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}

// Habits returns a line for each violation of a rule that concerns a single package or file.
func Habits(pkgs []*Package) []string {
	var bad []string
	for _, p := range pkgs {
		if !match(folders, p.Path) {
			bad = append(bad, fmt.Sprintf("%s: code lives below %s only", p.Path, folders))
		}
		if !p.testOnly() && !p.hasDoc() {
			bad = append(bad, fmt.Sprintf("%s: no package comment", p.Path))
		}
		if match(ordered, p.Path) {
			bad = append(bad, p.mapOrder()...)
		}
		virtual := slices.ContainsFunc(p.Files, func(f *File) bool { return slices.Contains(f.Imports, "testing/synctest") })
		for _, f := range p.Files {
			if f.Lines > maxLines {
				bad = append(bad, fmt.Sprintf("%s: %d lines, more than %d: split it by concern", f.Name, f.Lines, maxLines))
			}
			bad = append(bad, f.clocks(match(clockless, p.Path), virtual)...)
		}
		bad = append(bad, p.unseen()...)
	}
	return bad
}

func (p *Package) hasDoc() bool {
	return slices.ContainsFunc(p.Files, func(f *File) bool {
		return !f.Test && strings.TrimSpace(f.AST.Doc.Text()) != ""
	})
}

// clocks finds sleeps in tests, unless the package tests in virtual time with
// testing/synctest, and, in a clockless package, clocks and goroutines.
func (f *File) clocks(clockless, virtual bool) []string {
	var bad []string
	report := func(n ast.Node, what string) {
		bad = append(bad, fmt.Sprintf("%s: %s", f.Fset.Position(n.Pos()), what))
	}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			if clockless && !f.Test {
				report(n, "this package starts no goroutine")
			}
		case *ast.SelectorExpr:
			pkg, ok := n.X.(*ast.Ident)
			switch {
			case !ok || pkg.Name != "time":
			case f.Test && !virtual && n.Sel.Name == "Sleep":
				report(n, "a test must not sleep: wait for the condition or use testing/synctest")
			case !f.Test && clockless && slices.Contains(clockFuncs, n.Sel.Name):
				report(n, "this package reads no clock but the one it is given")
			}
		}
		return true
	})
	return bad
}

// unseen finds tests that start a program which reads files of this repository, in a package that
// does not call effort.Anew. Go would take their result from its cache although such a file has
// changed.
func (p *Package) unseen() (bad []string) {
	anew := false
	for _, f := range p.Files {
		ast.Inspect(f.AST, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !f.Test {
				return true
			}
			switch types.ExprString(call.Fun) {
			case "effort.Anew":
				anew = true
			case "exec.Command", "exec.CommandContext":
				for _, arg := range call.Args {
					if text, ok := arg.(*ast.BasicLit); ok && slices.Contains([]string{`"make"`, `"go"`, `"git"`}, text.Value) {
						bad = append(bad, fmt.Sprintf("%s: a test that starts %s calls effort.Anew", f.Fset.Position(n.Pos()), text.Value))
					}
				}
			}
			return true
		})
	}
	if anew {
		return nil
	}
	return bad
}

// DirectRequirements returns the module paths that the text of a go.mod file
// requires directly.
func DirectRequirements(gomod string) []string {
	var paths []string
	block := false
	for line := range strings.Lines(gomod) {
		line = strings.TrimSpace(line)
		switch {
		case line == "require (":
			block = true
		case line == ")":
			block = false
		case strings.HasSuffix(line, "// indirect"):
		case block && line != "":
			paths = append(paths, strings.Fields(line)[0])
		case strings.HasPrefix(line, "require "):
			paths = append(paths, strings.Fields(line)[1])
		}
	}
	return paths
}
