// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	"go.yaml.in/yaml/v2"
)

// What relabel-cases writes, for tests/support/relabel_cases.c: rules, and what Prometheus makes with them of some sets of
// labels. Numbers are 4 bytes, little-endian; texts have their length before them; a set is the number of labels, names and
// values: (rules as YAML, number of sets + 1, or 0 if the rules are refused, (set, 0 if it is dropped, else 1 and the
// resulting set)...)...
const setsPerList = 10

type relabelRule map[string]any

type relabelCase struct {
	rules []relabelRule
	sets  []map[string]string
}

var (
	labelNames = []string{"a", "b", "c", "d", "service_name", "__meta_process_exe", "__address__", "__tmp", "x1", "x2",
		"UPPER", "with.dot", "a b", "ünï", "日本", "__meta_kubernetes_pod_label_app", "__meta_kubernetes_pod_label_team"}
	labelValues = []string{"", "a", "b", "ab", "aab", "foo", "foobar", "foo-bar", "/usr/bin/python3.11", "10.0.0.1:9090",
		"FooBar", "ÄÖÜß straße", "ǅ", "İstanbul", "日本語", "line\nbreak", ";", "a;b", "a;", "$1", "${1}", "\x00nul", "\t", " ",
		"0", "42", "ΑΣΣ", "ſK", "é", "e\u0301", "😀", strings.Repeat("long ", 40), "prod", "PROD", "true"}
	fixedRegexes = []string{"(.*)", ".*", "(.+)", ".+", "", "a", "foo|bar", "foo|foo.*|x.+", "__meta_kubernetes_pod_label_(.+)",
		"__meta_.*", "(.*)/([^/]+)", "([^:]+)(?::\\d+)?", "(?P<name>[a-z]+)(?P<rest>.*)", "(?<name>.)(.*)", "(?i)foo.*",
		"^foo$", "foo\\.bar", "foo\\-(.*)", "(a)|(b)", "(a|ab)(c|bcd)?(.*)", ".", "..", "[^;]*;?(.*)", "(?s).+", "(?-s).+",
		"a*", "(a*)*", "(|a)+", "(?:x1|x2)", "\\d+", "\\pL+", "[[:upper:]]+", "\\Qa;b\\E", "\\Q|\\E.*", "a{2}b", "(a+)(b?)", "é.*", "日+.*",
		".*\\n.*", "(?m)^line$.*", "\\w+", "\\bfoo\\b.*", "x[12]", "[]a]+", "[^]a]+", "[(?<n>]+", "\\x{1F600}", "(?U)(a+)(.*)",
		"(?P<1>.*)", "(?P<01>.*)", "(?P<n>a)?(?P<n>b|f)?(?P<n>.)?.*"}
	badRegexes = []string{"\\C", "\\Z", "(?=a)", "(?<=a)b", "a{1001}", "(", "[a", "a**", "\\1", "a\\", "\\pX"}
	regexAtoms = []string{"a", "b", "foo", "bar", ".", "\\d", "\\w", "\\s", "[a-z]", "[^;]", "[A-Z0-9]", "(a|b)", "(?:x)", "(.*)",
		"(.+)", "(.*?)", "(?P<n>.*)", "(?<m>.+)", "\\pL", "\\PL", "\\.", "\\;", "/", ":", ";", "-", "_", "é", "日", "(?i)", "^", "$", "\\b", "\\B", "|",
		"*", "+", "?", "*?", "{2}", "{1,3}", "{", "}", "]", "((a)(b)?)", "[[:alpha:]]", "\\Q.\\E", "(?s)", "(?m)", "\\n", "(", ")", "\\p{Greek}", "\\z", "\\A"}
	templates = []string{"$1", "${1}", "$2", "$0", "$$", "$$1", "$", "a$", "$1x", "${1}x", "$name", "${name}", "$n-$m", "${n}_${m}",
		"", "literal", "x$1y$2z", "$1$1", "${", "${}", "${1", "$-", "$1é", "${1}é", "$é", "$01", "$10", "$100000000", "$999999999",
		"pre-${1}", "日$1", "$1.$2", "$_", "$name_x", "${rest}", "x\ny", "$1$2$3", "meta_$1", "$ 1", "${ 1}", "service_name"}
	targets = []string{"a", "b", "c", "x1", "service_name", "__tmp", "with.dot", "ünï", "$1", "${1}", "lbl_$1", "${n}", "a$", "", "new", "a b", "$2", "__x_${name}"}
	actions = []string{"replace", "replace", "replace", "replace", "keep", "drop", "keepequal", "dropequal", "hashmod", "labelmap",
		"labelmap", "labeldrop", "labelkeep", "lowercase", "uppercase"}
	separators = []string{";", "", "/", ", ", "é", "-"}
)

func pick[T any](r *rand.Rand, list []T) T { return list[r.Intn(len(list))] }

// Prometheus compiles "^(?s:" + text + ")$"; ours wants the text to be sound by itself, too.
func soundOnlyWrapped(text string) bool {
	_, alone := regexp.Compile(text)
	_, wrapped := regexp.Compile("^(?s:" + text + ")$")
	return alone != nil && wrapped == nil
}

func composedRegex(r *rand.Rand) string {
	for {
		var text string
		for n := 1 + r.Intn(6); n > 0; n-- {
			text += pick(r, regexAtoms)
		}
		if !soundOnlyWrapped(text) {
			return text
		}
	}
}

func randomRegex(r *rand.Rand) string {
	switch r.Intn(60) {
	case 0:
		return pick(r, badRegexes)
	case 1, 2:
		return composedRegex(r)
	}
	if r.Intn(3) != 0 {
		return pick(r, fixedRegexes)
	}
	for {
		text := composedRegex(r)
		if _, err := regexp.Compile(text); err == nil {
			return text
		}
	}
}

func randomSources(r *rand.Rand) []string {
	n := r.Intn(4)
	if r.Intn(50) == 0 {
		n = 20
	}
	list := make([]string, n)
	for i := range list {
		list[i] = pick(r, labelNames)
		if r.Intn(300) == 0 {
			list[i] = ""
		}
	}
	return list
}

func randomModulus(r *rand.Rand) uint64 {
	switch r.Intn(8) {
	case 0:
		return 0
	case 1:
		return 1<<63 - 1
	}
	return 1 + uint64(r.Intn(1000))
}

// The keys an action needs are nearly always there, others now and then.
func randomRule(r *rand.Rand) relabelRule {
	rule := relabelRule{}
	action := pick(r, actions)
	if action != "replace" || r.Intn(2) == 0 {
		rule["action"] = action
	}
	wants := map[string]bool{"source_labels": true, "target_label": true, "regex": true, "replacement": r.Intn(2) == 0, "separator": r.Intn(3) == 0}
	switch action {
	case "keepequal", "dropequal":
		wants = map[string]bool{"source_labels": true, "target_label": true}
	case "lowercase", "uppercase":
		wants = map[string]bool{"source_labels": true, "target_label": true, "separator": r.Intn(3) == 0}
	case "hashmod":
		wants = map[string]bool{"source_labels": true, "target_label": true, "modulus": true}
	case "labeldrop", "labelkeep":
		wants = map[string]bool{"regex": true}
	case "labelmap":
		wants = map[string]bool{"regex": true, "replacement": r.Intn(2) == 0}
	case "keep", "drop":
		wants = map[string]bool{"source_labels": true, "regex": r.Intn(10) != 0}
	}
	for _, key := range []string{"source_labels", "target_label", "regex", "replacement", "separator", "modulus"} {
		if r.Intn(200) == 0 {
			wants[key] = !wants[key]
		}
	}
	if sources := randomSources(r); wants["source_labels"] && len(sources) > 0 {
		rule["source_labels"] = sources
	}
	if wants["target_label"] {
		rule["target_label"] = pick(r, targets)
	}
	if wants["regex"] {
		rule["regex"] = randomRegex(r)
	}
	if wants["replacement"] {
		rule["replacement"] = pick(r, templates)
	}
	if wants["separator"] {
		rule["separator"] = pick(r, separators)
	}
	if wants["modulus"] {
		rule["modulus"] = randomModulus(r)
	}
	return rule
}

func randomLabels(r *rand.Rand) map[string]string {
	set := map[string]string{}
	n := r.Intn(10)
	for ; n > 0; n-- {
		set[pick(r, labelNames)] = pick(r, labelValues)
	}
	if r.Intn(200) == 0 {
		for i := range 60 {
			set["many_"+strconv.Itoa(i)] = pick(r, labelValues)
		}
	}
	return set
}

func randomCase(r *rand.Rand) relabelCase {
	c := relabelCase{}
	for range setsPerList {
		c.sets = append(c.sets, randomLabels(r))
	}
	for n := 1 + r.Intn(4); n > 0; n-- {
		c.rules = append(c.rules, randomRule(r))
	}
	return c
}

// Every letter there is, in both directions.
func caseCases() []relabelCase {
	var letters strings.Builder
	for c := rune(1); c <= unicode.MaxRune; c++ {
		if unicode.ToLower(c) != c || unicode.ToUpper(c) != c {
			letters.WriteRune(c)
		}
	}
	var cases []relabelCase
	for _, action := range []string{"lowercase", "uppercase"} {
		rule := relabelRule{"action": action, "source_labels": []string{"a"}, "target_label": "b"}
		cases = append(cases, relabelCase{[]relabelRule{rule}, []map[string]string{{"a": letters.String()}}})
	}
	return cases
}

func (c relabelCase) yaml() string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(map[string]any{"rules": c.rules}); err != nil {
		panic(err)
	}
	return text.String()
}

// loadRules reads and checks rules as Prometheus does when it loads its configuration.
func loadRules(text string) ([]*relabel.Config, error) {
	var loaded struct {
		Rules []*relabel.Config `yaml:"rules"`
	}
	if err := yaml.UnmarshalStrict([]byte(text), &loaded); err != nil {
		return nil, err
	}
	for _, rule := range loaded.Rules {
		if err := rule.Validate(model.UTF8Validation); err != nil {
			return nil, err
		}
	}
	return loaded.Rules, nil
}

type caseWriter struct{ *bufio.Writer }

func (w caseWriter) number(n int) {
	var word [4]byte
	binary.LittleEndian.PutUint32(word[:], uint32(n))
	w.Write(word[:])
}

func (w caseWriter) text(s string) {
	w.number(len(s))
	w.WriteString(s)
}

func (w caseWriter) labels(set labels.Labels) {
	w.number(set.Len())
	set.Range(func(l labels.Label) {
		w.text(l.Name)
		w.text(l.Value)
	})
}

type verdicts struct{ refused, kept, dropped int }

func (v verdicts) all() int { return v.refused + v.kept + v.dropped }

func (w caseWriter) write(c relabelCase, v *verdicts) {
	text := c.yaml()
	w.text(text)
	rules, err := loadRules(text)
	if err != nil {
		w.number(0)
		v.refused++
		return
	}
	w.number(len(c.sets) + 1)
	for _, set := range c.sets {
		w.labels(labels.FromMap(set))
		builder := labels.NewBuilder(labels.FromMap(set))
		if !relabel.ProcessBuilder(builder, rules...) {
			w.number(0)
			v.dropped++
			continue
		}
		w.number(1)
		w.labels(builder.Labels())
		v.kept++
	}
}

// relabel-cases COUNT OUT
func writeRelabelCases(args []string) error {
	count, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	out, err := os.Create(args[1])
	if err != nil {
		return err
	}
	defer out.Close()
	random, w, v := rand.New(rand.NewSource(1)), caseWriter{bufio.NewWriter(out)}, verdicts{}
	for _, c := range caseCases() {
		w.write(c, &v)
	}
	for v.all() < count {
		w.write(randomCase(random), &v)
	}
	fmt.Printf("%d cases: %d refused, %d kept, %d dropped\n", v.all(), v.refused, v.kept, v.dropped)
	return w.Flush()
}
