// SPDX-License-Identifier: Apache-2.0

package main

import "fmt"

const maxDifferences = 6
const maxShown = 1600

func short(s string) string {
	if len(s) > maxShown {
		return s[:maxShown] + fmt.Sprintf("... (%d bytes)", len(s))
	}
	return s
}

// around shows b from shortly before the place where it stops being like a.
func around(a, b string) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	from, to := max(i-60, 0), min(i+120, len(b))
	return fmt.Sprintf("at %d: ...%s...", i, b[from:to])
}

// onlyIn gives what sorted a has and sorted b has not, at most maxDifferences of it, and how much there is.
func onlyIn(a, b []string) (list []string, count int) {
	i, j := 0, 0
	for i < len(a) {
		switch {
		case j < len(b) && b[j] < a[i]:
			j++
		case j < len(b) && b[j] == a[i]:
			i, j = i+1, j+1
		default:
			if count++; count <= maxDifferences {
				list = append(list, a[i])
			}
			i++
		}
	}
	return list, count
}

func headerDifferences(a, b []field) (count int) {
	for i := range max(len(a), len(b)) {
		var x, y field
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x == y {
			continue
		}
		if count++; count <= maxDifferences {
			fmt.Printf("%s%s:\n  A %s\n  B %s\n", x.name, map[bool]string{true: "", false: " / " + y.name}[x.name == y.name],
				short(x.value), short(y.value))
			if len(x.value) > maxShown {
				fmt.Printf("  A %s\n  B %s\n", around(y.value, x.value), around(x.value, y.value))
			}
		}
	}
	return count
}

// compareFiles compares the first with each of the others.
func compareFiles(paths []string, read func(string) (canonical, error)) error {
	a, err := read(paths[0])
	if err != nil {
		return err
	}
	for _, path := range paths[1:] {
		b, err := read(path)
		if err != nil {
			return err
		}
		if err = compare(a, b, paths[0], path); err != nil {
			return err
		}
	}
	return nil
}

func compare(a, b canonical, nameA, nameB string) error {
	headers := headerDifferences(a.header, b.header)
	listA, countA := onlyIn(a.samples, b.samples)
	listB, countB := onlyIn(b.samples, a.samples)
	if headers+countA+countB == 0 {
		return nil
	}
	for i, s := range listA {
		fmt.Printf("sample only in A: %s\n", short(s))
		if i < len(listB) {
			fmt.Printf("sample only in B: %s\n  first difference: A %s\n                    B %s\n", short(listB[i]),
				around(listB[i], s), around(s, listB[i]))
		}
	}
	for _, s := range listB[min(len(listA), len(listB)):] {
		fmt.Printf("sample only in B: %s\n", short(s))
	}
	fmt.Printf("differs: %d of the header, %d samples only in %s, %d only in %s\n", headers, countA, nameA, countB, nameB)
	return errDiffers
}
