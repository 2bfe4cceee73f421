// SPDX-License-Identifier: Apache-2.0
#include "net/proxy_protocol.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

enum { V1_MAX_BYTES = 107, V2_HEAD_BYTES = 16, V2_TCP4 = 0x11, V2_TCP6 = 0x21 };

static const uint8_t v2_signature[12] = {0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A};

static bool begins_like(struct bytes received, const void *signature, size_t len)
{
    return memcmp(received.data, signature, received.len < len ? received.len : len) == 0;
}

static enum proxy_result parse_v2(struct bytes b, size_t *used_out, struct proxy_source *out)
{
    if (b.len < V2_HEAD_BYTES)
        return PROXY_MORE;
    unsigned command = b.data[12] & 0xF, family = b.data[13];
    size_t len = (size_t)b.data[14] << 8 | b.data[15], need = family == V2_TCP4 ? 12 : family == V2_TCP6 ? 36 : 0;
    if (b.data[12] >> 4 != 2 || command > 1 || V2_HEAD_BYTES + len > PROXY_HEADER_MAX_BYTES)
        return PROXY_BAD;
    if (b.len < V2_HEAD_BYTES + len)
        return PROXY_MORE;
    *used_out = V2_HEAD_BYTES + len;
    if (command == 0 || need == 0)
        return PROXY_OK;
    if (len < need)
        return PROXY_BAD;
    const uint8_t *at = b.data + V2_HEAD_BYTES, *port = at + (family == V2_TCP4 ? 8 : 32);
    inet_ntop(family == V2_TCP4 ? AF_INET : AF_INET6, at, out->address, sizeof out->address);
    out->port = (uint16_t)(port[0] << 8 | port[1]);
    return PROXY_OK;
}

static bool parse_port(const char *text, uint16_t *out)
{
    unsigned long port = 0;
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        port = port * 10 + (unsigned long)(text[i] - '0');
    }
    *out = (uint16_t)port;
    return len > 0 && len <= 5 && port <= 65535;
}

// "PROXY TCP4 source target source-port target-port", without its CR LF.
static bool parse_v1_line(char *line, struct proxy_source *out)
{
    enum { WORDS = 6 };
    char *words[WORDS];
    size_t count = 0;
    for (char *at = line; at != NULL && count < WORDS; count++) {
        words[count] = at;
        at = strchr(at, ' ');
        if (at != NULL)
            *at++ = '\0';
        if (at != NULL && count == WORDS - 1)
            return false;
    }
    if (count >= 2 && strcmp(words[1], "UNKNOWN") == 0)
        return true;
    uint8_t address[16];
    uint16_t port;
    int family = count == WORDS && strcmp(words[1], "TCP4") == 0 ? AF_INET : AF_INET6;
    if (count != WORDS || (family == AF_INET6 && strcmp(words[1], "TCP6") != 0) ||
        inet_pton(family, words[3], address) != 1 || inet_pton(family, words[2], address) != 1 ||
        !parse_port(words[5], &port) || !parse_port(words[4], &port))
        return false;
    inet_ntop(family, address, out->address, sizeof out->address);
    out->port = port;
    return true;
}

static enum proxy_result parse_v1(struct bytes b, size_t *used_out, struct proxy_source *out)
{
    char line[V1_MAX_BYTES + 1];
    size_t max = b.len < V1_MAX_BYTES ? b.len : V1_MAX_BYTES;
    const uint8_t *end = memchr(b.data, '\n', max);
    if (end == NULL)
        return b.len < V1_MAX_BYTES ? PROXY_MORE : PROXY_BAD;
    size_t len = (size_t)(end - b.data);
    if (len == 0 || b.data[len - 1] != '\r' || memchr(b.data, '\0', len) != NULL)
        return PROXY_BAD;
    memcpy(line, b.data, len - 1);
    line[len - 1] = '\0';
    *used_out = len + 1;
    return parse_v1_line(line, out) ? PROXY_OK : PROXY_BAD;
}

enum proxy_result proxy_protocol_parse(struct bytes received, size_t *used_out, struct proxy_source *out)
{
    *out = (struct proxy_source){0};
    if (received.len == 0)
        return PROXY_MORE;
    if (begins_like(received, v2_signature, sizeof v2_signature))
        return parse_v2(received, used_out, out);
    if (begins_like(received, "PROXY ", 6))
        return received.len < 6 ? PROXY_MORE : parse_v1(received, used_out, out);
    return PROXY_BAD;
}
