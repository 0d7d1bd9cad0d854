package archtest

import (
	"go/ast"
	"go/token"
	"path"
	"strings"
	"testing"
)

// TestAdapters: each adapter of a protocol to the simulator, which is a package with a variable Protocol, is known
// to lnetsim, and ARCHITECTURE.md lists it.
func TestAdapters(t *testing.T) {
	_, list, _ := strings.Cut(read(t, "cmd/lnetsim/main.go"), "var protocols = ")
	list, _, _ = strings.Cut(list, "\n")
	_, sentence, _ := strings.Cut(read(t, "ARCHITECTURE.md"), "What adapts a\nprotocol to it has a package of its own (")
	sentence, _, _ = strings.Cut(sentence, ")")
	found := 0
	for _, p := range load(t) {
		if !declaresProtocol(p) {
			continue
		}
		found++
		if !strings.Contains(list, path.Base(p.Path)+".Protocol") {
			t.Errorf("%s has a Protocol: add it to the list protocols of cmd/lnetsim/main.go", p.Path)
		}
		if !strings.Contains(sentence, "`"+p.Path+"`") {
			t.Errorf("ARCHITECTURE.md does not list `%s` in the sentence \"What adapts a protocol to it ...\"", p.Path)
		}
	}
	if found < 7 {
		t.Errorf("%d adapters found, want 7 or more", found)
	}
}

// declaresProtocol reports whether a package declares a variable Protocol outside its tests.
func declaresProtocol(p *Package) bool {
	for _, f := range p.Files {
		for _, d := range f.AST.Decls {
			g, ok := d.(*ast.GenDecl)
			if f.Test || !ok || g.Tok != token.VAR {
				continue
			}
			for _, s := range g.Specs {
				if s.(*ast.ValueSpec).Names[0].Name == "Protocol" {
					return true
				}
			}
		}
	}
	return false
}

// TestDriversRunSuite: each package below lnd with an LND runs the suite of lnd/lndtest in its tests.
func TestDriversRunSuite(t *testing.T) {
	found := 0
	for _, p := range load(t) {
		if !strings.HasPrefix(p.Path, "lnd/") || !hasLND(p) {
			continue
		}
		found++
		if !runsSuite(p) {
			t.Errorf("%s has an LND and does not run lndtest.Run in its tests, see lnd/lo/lo_test.go", p.Path)
		}
	}
	if found < 5 {
		t.Errorf("%d packages below lnd have an LND, want 5 or more", found)
	}
}

// hasLND reports whether a package has an LND: a type with a method Startup(lnd.Config, lnd.Upcalls).
func hasLND(p *Package) bool {
	for _, f := range p.Files {
		for _, d := range f.AST.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && !f.Test && d.Recv != nil && d.Name.Name == "Startup" && len(d.Type.Params.List) == 2 {
				return true
			}
		}
	}
	return false
}

// runsSuite reports whether tests of a package call lndtest.Run.
func runsSuite(p *Package) (runs bool) {
	for _, f := range p.Files {
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if n, ok := n.(*ast.SelectorExpr); ok && f.Test && n.Sel.Name == "Run" {
				x, ok := n.X.(*ast.Ident)
				runs = runs || ok && x.Name == "lndtest"
			}
			return true
		})
	}
	return runs
}
