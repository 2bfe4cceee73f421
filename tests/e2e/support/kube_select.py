# SPDX-License-Identifier: Apache-2.0
"""Field and label selectors, as the API understands them."""
import re

FIELDS = {"metadata.name": lambda o: o["metadata"]["name"], "metadata.namespace": lambda o: o["metadata"].get("namespace", ""),
          "spec.nodeName": lambda o: o["spec"].get("nodeName", ""), "status.phase": lambda o: o["status"].get("phase", ""),
          "status.podIP": lambda o: o["status"].get("podIP", ""), "spec.restartPolicy": lambda o: o["spec"].get("restartPolicy", "Always"),
          "spec.hostNetwork": lambda o: str(o["spec"].get("hostNetwork", False)).lower()}


def _fields(text):
    out = []
    for term in filter(None, text.split(",")):
        key, operator, value = re.fullmatch(r"([^=!]+)(!=|==|=)(.*)", term).groups()
        out.append((FIELDS[key], operator != "!=", value))
    return lambda o: all((get(o) == value) == wanted for get, wanted, value in out)


def _label(term):
    found = re.fullmatch(r"(!?)\s*([^\s=!]+)\s*(?:(!=|==|=)\s*(\S*)|(in|notin)\s*\((.*)\))?", term)
    assert found, f"not a label selector: {term!r}"
    negated, key, operator, value, many, values = found.groups()
    if operator:
        return lambda labels: (labels.get(key) == value) == (operator != "!=")
    if many:
        several = {v.strip() for v in values.split(",")}
        return lambda labels: (labels.get(key) in several) == (many == "in")
    return lambda labels: (key in labels) != bool(negated)


def _labels(text):
    terms = [_label(t.strip()) for t in re.split(r",(?![^(]*\))", text) if t.strip()]
    return lambda o: all(term(o["metadata"].get("labels", {})) for term in terms)


def selector(namespace, query):
    """Which objects a request is about."""
    fields, labels = _fields(query.get("fieldSelector", "")), _labels(query.get("labelSelector", ""))
    return lambda o: (not namespace or o["metadata"].get("namespace") == namespace) and fields(o) and labels(o)
