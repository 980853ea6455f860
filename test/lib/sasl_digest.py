# SPDX-License-Identifier: Apache-2.0
"""DIGEST-MD5 (RFC 2831) of a client, for tests that want to say each token themselves."""
import hashlib
import os
import re


def parse(challenge):
    return {name: quoted or plain for name, quoted, plain in
            re.findall(r'([a-z-]+)=(?:"([^"]*)"|([^,]*))', challenge.decode())}


def md5(data):
    return hashlib.md5(data).digest()


def response(challenge, user, password, service="zookeeper", host="zk-sasl-md5", authzid=None, realm=None):
    """What `user` answers, and what the server then has to show (rspauth)."""
    given = parse(challenge)
    realm = given["realm"] if realm is None else realm
    nonce, cnonce, uri = given["nonce"], os.urandom(12).hex(), "%s/%s" % (service, host)
    a1 = md5(("%s:%s:%s" % (user, realm, password)).encode()) + (":%s:%s" % (nonce, cnonce)).encode()
    a1 += (":" + authzid).encode() if authzid is not None else b""

    def value(method):
        a2 = md5(("%s:%s" % (method, uri)).encode()).hex()
        return md5(("%s:%s:00000001:%s:auth:%s" % (md5(a1).hex(), nonce, cnonce, a2)).encode()).hex()

    text = ('charset=utf-8,username="%s",realm="%s",nonce="%s",nc=00000001,cnonce="%s",digest-uri="%s",'
            'maxbuf=65536,response=%s,qop=auth' % (user, realm, nonce, cnonce, uri, value("AUTHENTICATE")))
    text += ',authzid="%s"' % authzid if authzid is not None else ""
    return text.encode(), ("rspauth=" + value("")).encode()
