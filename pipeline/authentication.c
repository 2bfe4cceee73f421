// SPDX-License-Identifier: Apache-2.0
#include "pipeline/authentication.h"

static const char *wrong_role(unsigned roles, enum auth_role wanted)
{
    if (roles == 0)
        return "is no authenticator: name a basicauth, a bearertokenauth or, in an exporter, a headers_setter";
    return wanted == AUTH_ROLE_SERVER ? "adds credentials to requests that go out, it cannot check those that come in"
                                      : "checks requests that come in, it has no credentials to send";
}

void auth_check(const struct component_check *check, const char *key, const char *id, enum auth_role role)
{
    if (id == NULL)
        return;
    if (!check->has_extension(check->arg, id)) {
        check_error(check, key,
                    "no extension \"%s\" is started: define it under extensions: and list it in "
                    "service.extensions",
                    id);
        return;
    }
    unsigned roles = check->extension_roles(check->arg, id);
    if ((roles & role) == 0)
        check_error(check, key, "the extension \"%s\" %s", id, wrong_role(roles, role));
}
